/// <reference path="./bitsy.d.ts" />

/** The object `bitsy` of the page. */
export type Bitsy = typeof globalThis.bitsy;

/** Options of `register`. */
export interface RegisterOptions {
  /** Addresses of the application's own files, which are copied so that the page starts without a network. */
  shell?: readonly string[];
  /** Name of the person whose cookies the page uses, at most 200 characters. */
  partition?: string;
  /** Part of the site whose pages are intercepted; the directory of the worker if it is not given. */
  scope?: string;
  /** Address of a gateway, which is used in place of the worker if it responds. */
  gateway?: string;
}

/**
 * Registers the worker at this address. The promise is fulfilled once the subscriptions are known, and rejected with a
 * `bitsy.GatewayError` if neither the worker nor the gateway can be used.
 */
export function register(worker: string | URL, options?: RegisterOptions): Promise<Bitsy>;

export const bitsy: Bitsy;
export default bitsy;
