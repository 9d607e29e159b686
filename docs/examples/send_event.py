import http.client
import random
import time
import urllib.error
import urllib.request


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


opener = urllib.request.build_opener(NoRedirect)


def send_event(base_url, api_key, idempotency_key, body, attempts=8, wait=time.sleep):
    """Sends stored bytes until they are answered; returns (status, body). 429 and 5xx come back only when attempts are
    used up, or at once if they ask for more than 5 minutes (a used-up quota does): keep the event and send it later.
    Raises OSError or HTTPException when no answer came on the last attempt."""
    request = urllib.request.Request(
        f"{base_url}/v1/transactions",
        data=body,
        method="POST",
        headers={
            "Content-Type": "application/json",
            "X-Api-Key": api_key,
            "Idempotency-Key": idempotency_key,
        },
    )
    attempt = 0
    while True:
        attempt += 1
        delay = random.uniform(0, min(60, 2**attempt))
        try:
            try:
                response = opener.open(request, timeout=10)
            except urllib.error.HTTPError as error:
                response = error
            with response:
                status, answer = response.status, response.read()
            # 400, 401, 403, 409 and the like never get better by repeating; 408 is a connection that was too slow.
            if status < 500 and status not in (408, 429):
                return status, answer
            retry_after = response.headers.get("Retry-After") or ""
            if attempt == attempts or (retry_after.isdecimal() and int(retry_after) > 5 * 60):
                return status, answer
            if retry_after.isdecimal():
                delay = int(retry_after) + random.uniform(0, 1)
        except (OSError, http.client.HTTPException):
            # No answer: the event may have been accepted. Repeating tells, and accepts it once only.
            if attempt == attempts:
                raise
        wait(delay)
