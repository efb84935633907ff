/// How many entries a bulk write may keep in memory, and where it stores the others.
struct BulkMemory {
    /// The connection that owns the temporary tables.
    let connection: Connection
    /// The directory of the spool files.
    let directory: String
    /// The largest number of objects, numbers or runs of ids that one collection keeps in memory.
    let countMax: Int
}
