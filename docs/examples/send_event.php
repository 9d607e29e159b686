<?php
declare(strict_types=1);

/**
 * Sends stored bytes until they are answered; returns [status, body]. 429 and 5xx come back only when attempts are used
 * up, or at once if they ask for more than 5 minutes (a used-up quota does), and status 0 when no answer came on the
 * last attempt: keep the event and send it later.
 */
function send_event(string $baseUrl, string $apiKey, string $idempotencyKey, string $body, int $attempts = 8, ?callable $wait = null): array
{
    $wait ??= 'usleep';
    $context = stream_context_create(['http' => [
        'method' => 'POST',
        'header' => ['Content-Type: application/json', "X-Api-Key: $apiKey", "Idempotency-Key: $idempotencyKey"],
        'content' => $body,
        'timeout' => 10,
        'ignore_errors' => true,
        'follow_location' => 0,
    ]]);
    for ($attempt = 1; ; $attempt++) {
        $delay = random_int(0, 1000 * min(60_000, 1000 * 2 ** $attempt));
        [$status, $retryAfter, $answer] = [0, '', ''];
        $stream = @fopen("$baseUrl/v1/transactions", 'r', false, $context);
        if ($stream !== false) {
            foreach (stream_get_meta_data($stream)['wrapper_data'] as $line) {
                if (preg_match('~^HTTP/\S+ (\d{3})~', $line, $found)) $status = (int) $found[1];
                if (preg_match('~^Retry-After: *(\d+)$~i', $line, $found)) $retryAfter = $found[1];
            }
            $answer = (string) stream_get_contents($stream);
            fclose($stream);
        }
        // 400, 401, 403, 409 and the like never get better by repeating; 408 is a connection that was too slow.
        // Status 0 is no answer: the event may have been accepted. Repeating tells, and accepts it once only.
        $mayHelp = $status === 0 || $status === 408 || $status === 429 || $status >= 500;
        if (!$mayHelp || $attempt === $attempts || (int) $retryAfter > 5 * 60) {
            return [$status, $answer];
        }
        if ($retryAfter !== '') {
            $delay = 1_000_000 * (int) $retryAfter + random_int(0, 1_000_000);
        }
        $wait($delay);
    }
}
