/** Number of accounts on one page: the default and the maximum of parameter `limit`. */
export const accountLimits = { usual: 50, max: 500 };
