<?php
declare(strict_types=1);

/** True for a genuine delivery. Header names in lower case; $rawBody: file_get_contents('php://input'). */
function verify_webhook(array $headers, string $rawBody, string $current, ?string $previous = null, int $replacedAt = 0, ?int $now = null): bool
{
    $now ??= time();
    $timestamp = $headers['x-service-timestamp'] ?? '';
    $eventId = $headers['x-service-event-id'] ?? '';
    $signedAt = strtotime($timestamp);
    if ($signedAt === false || abs($now - $signedAt) > 5 * 60) {
        return false;
    }
    $provenBy = function (string $name, string $secret) use ($headers, $timestamp, $eventId, $rawBody): bool {
        $expected = 'v1=' . hash_hmac('sha256', "$timestamp.$eventId.$rawBody", $secret);
        return hash_equals($expected, $headers[$name] ?? '');
    };
    if ($provenBy('x-service-signature', $current)) {
        return true;
    }
    // Until a new secret has reached this server, its current one is the service's previous one.
    if ($provenBy('x-service-signature-previous', $current)) {
        return true;
    }
    $inWindow = $now - $replacedAt <= 24 * 60 * 60;
    return ($previous ?? '') !== '' && $inWindow && $provenBy('x-service-signature-previous', $previous);
}

// Requests of PHP share no memory, so event ids are remembered in a table with `event_id` as its primary key:
// a delivery whose INSERT fails for the key is a duplicate. Insert it in the transaction that does the work.
