/// How much a bulk write may remember in memory, and where the rest goes.
struct BulkMemory {
    /// Temporary tables are its.
    let connection: Connection
    /// Where spool files go.
    let directory: String
    /// Objects, numbers or runs of ids that each collection holds in memory.
    let countMax: Int
}
