import NestModel

/// Reads a store beside its one writer: a read-only connection of its own per call, which never checkpoints.
package struct StoreReader: Sendable {
    let path: String
    let model: ManagedObjectModel
    /// Where spool files go: beside the store.
    package let spoolDirectory: String

    /// Reads a sub-tree in preorder at one revision, at server speed, into a spool file. Blocks: call it on a thread
    /// that may. `isCancelled` is asked between chunks.
    package func exportSubtree(
        _ request: SubtreeRequest,
        atLeast: Revision,
        isCancelled: () -> Bool
    ) throws(NestError) -> SubtreeExport {
        throw NestError(.internalError, "placeholder")
    }
}
