/** What TypeScript's own DOM types do not have yet. */
interface Navigator {
  userAgentData?: {
    getHighEntropyValues(
      hints: string[],
    ): Promise<{ fullVersionList?: { brand: string; version: string }[] }>;
  };
}
