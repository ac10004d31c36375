/// <reference path="./bitsy.d.ts" />

/** A problem of the stored data. */
export interface Problem {
  /**
   * `damaged`: a stored record could not be read and was set aside. `evicted`: the browser has deleted everything.
   * `version`: the data belong to a newer worker.
   */
  readonly kind: "damaged" | "evicted" | "version";
  readonly timeStamp: number;
  /** Address of the resource that is affected, if it is known. */
  readonly location: string | null;
  readonly detail: string;
  /** Edits that are lost, of those that the page could see. */
  readonly edits: readonly { readonly method: string; readonly location: string }[];
  /** Removes the problem, for all pages. */
  clear(): void;
}

/** A listener for problems. */
export type ProblemListener = ((problem: Problem) => void) | { handleEvent(problem: Problem): void };

/** The object `bitsy` of the page. */
export type Bitsy = typeof globalThis.bitsy & {
  /** Problems that nobody has cleared. */
  readonly problems: readonly Problem[];
  addProblemListener(listener: ProblemListener): void;
  removeProblemListener(listener: ProblemListener): void;
  /** The policy for the use of the network. */
  networkPolicy(): Promise<"auto" | "offline">;
  /**
   * Sets the policy, which is stored: with "offline" nothing is sent to servers of subscriptions, and edits wait. "online" is
   * "auto", and tries everything that waits at once.
   */
  setNetworkPolicy(policy: "auto" | "offline" | "online"): Promise<"auto" | "offline">;
};

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
