/** Calls administrative procedures over HTTP. @throws Error with the refusal's own sentence */
export function adminCalls(url: string, token: string) {
  return async (procedure: string, input: object): Promise<Record<string, string>> => {
    const response = await fetch(`${url}/admin/trpc/${procedure}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(input),
    });
    const answer = (await response.json()) as {
      result?: { data: Record<string, string> };
      error?: { message: string };
    };
    if (answer.result === undefined) throw new Error(answer.error?.message);
    return answer.result.data;
  };
}
