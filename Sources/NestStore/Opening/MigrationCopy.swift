import Glibc
import NestModel
import NestSchema

/// The copy of a store from before its migration, next to the store.
struct MigrationCopy {
    let connection: Connection
    let path: String
    /// The layout of the stored model.
    let layout: ModelLayout
    let head: Revision

    /// Copies the whole store to a file next to it and returns the file's path. The copy is durable before anything is
    /// changed. It is marked as a copy, so that a store made from it gets its own history id.
    func make() throws(StoreError) -> String {
        let copy = try self.copyName()
        let partial = "\(self.path).before-migration.partial"
        StoreFile.removePartial(partial)
        do {
            let statement = try self.connection.prepare("VACUUM INTO ?1")
            statement.bind(1, text: partial)
            try statement.run()
            try Store.markAsCopy(partial)
            try StoreFile.publish(partial, as: copy)
        } catch {
            // The partial copy may have filled the disk.
            StoreFile.removePartial(partial)
            if case .sqlite(let code, let message) = error {
                throw .sqlite(
                    code: code,
                    message: "copying the store to \(copy) before the migration: \(message)"
                )
            }
            throw error
        }
        return copy
    }

    /// Returns a name that no copy has yet, or the name of a copy of exactly this state, which a killed migration has
    /// left. Two migrations may start from the same revision, and the later one must not replace the copy of the
    /// earlier one.
    private func copyName() throws(StoreError) -> String {
        let name = "\(self.path).before-migration-\(self.head)"
        var candidate = name
        var number = 1
        while try Self.exists(candidate), try !self.isOfSameState(candidate) {
            number += 1
            candidate = "\(name)-\(number)"
        }
        return candidate
    }

    private static func exists(_ path: String) throws(StoreError) -> Bool {
        var status = stat()
        if lstat(path, &status) == 0 { return true }
        guard errno == ENOENT else { throw .io(operation: "looking for \(path)", errno: errno) }
        return false
    }

    /// Whether a file is a copy of this store at this revision with this model.
    private func isOfSameState(_ path: String) throws(StoreError) -> Bool {
        guard let copy = try? Connection(path: path, role: .copy) else { return false }
        defer { try? copy.close() }
        let own = try self.names(self.connection)
        return copy.access { (try? self.names(copy)) == own }
    }

    /// Returns the values that identify one state of a store: its history id, model and revision.
    private func names(_ connection: Connection) throws(StoreError) -> [[UInt8]?] {
        var head = ByteWriter()
        head.write(revision: try Journal(connection: connection, layout: self.layout).newest()?.revision ?? Revision(0))
        return [try Store.meta(connection, "history_id"), try Store.meta(connection, "model"), head.bytes]
    }
}
