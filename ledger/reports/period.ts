/** What a report is about. Times in ms since 1970 UTC, `to` excluded. */
export interface ReportPeriod {
  /** Undefined: the whole service. */
  readonly siteId: bigint | undefined;
  readonly from: number;
  readonly to: number;
}

/** Parameters `$1` to `$3` of every statement here: Site (0 for the whole service), from, to. */
export const periodParameters = ({ siteId, from, to }: ReportPeriod): string[] => [
  String(siteId ?? 0n),
  new Date(from).toISOString(),
  new Date(to).toISOString(),
];
