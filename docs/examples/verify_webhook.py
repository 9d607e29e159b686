import hashlib
import hmac
import time
from datetime import datetime


def verify_webhook(headers, raw_body, current, previous=None, replaced_at=0, now=None):
    """True for a genuine delivery. Header names in lower case; raw_body: bytes; replaced_at, now: epoch seconds."""
    now = time.time() if now is None else now
    timestamp = headers.get("x-service-timestamp", "")
    event_id = headers.get("x-service-event-id", "")
    try:
        signed_at = datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return False
    if abs(now - signed_at) > 5 * 60:
        return False

    def proven_by(name, secret):
        signed = f"{timestamp}.{event_id}.".encode() + raw_body
        expected = "v1=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
        return hmac.compare_digest(headers.get(name, "").encode(), expected.encode())

    if proven_by("x-service-signature", current):
        return True
    # Until a new secret has reached this server, its current one is the service's previous one.
    if proven_by("x-service-signature-previous", current):
        return True
    in_window = now - replaced_at <= 24 * 60 * 60
    return bool(previous) and in_window and proven_by("x-service-signature-previous", previous)


def is_duplicate(event_id, seen, now=None):
    """True for an event id that was seen before. Only for verified deliveries. Several servers: a unique column."""
    now = time.time() if now is None else now
    for known in [known for known, at in seen.items() if now - at > 7 * 24 * 60 * 60]:
        del seen[known]
    if event_id in seen:
        return True
    seen[event_id] = now
    return False
