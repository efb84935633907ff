/** Why a transaction has no effect: the server must refuse it. */
export class Refusal extends Error {}
