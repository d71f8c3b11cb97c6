/** The platforms that a binary is made for, by name. */
export const platforms: Record<string, { executable: string; integrity: string }>;
