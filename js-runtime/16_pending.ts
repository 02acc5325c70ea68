// `pi.pushPendingAction`: a preview that the model confirms or discards later (spec omp 5.8).
//
// Needs a surface that offers the hidden `resolve` tool; this runtime has none yet, and says so in
// the original's words.

export function pushPendingAction(): never {
  throw new Error("Pending action store unavailable for custom tools in this runtime.");
}
