import Glibc
import NestModel
import NestProtocol
import NestSchema

/// A snapshot of a store of a cluster, as a file that goes when this value goes.
package final class StoreSnapshot: Sendable {
    package let description: LogSnapshot
    private let file: SpoolFile

    fileprivate init(_ description: LogSnapshot, _ file: SpoolFile) {
        self.description = description
        self.file = file
    }

    /// Returns a part, packed, as the log stores it.
    package func part(_ index: Int) throws(StoreError) -> [UInt8] {
        let start = index * Limits.logPartBytes
        let count = min(Limits.logPartBytes, Int(self.description.byteCount) - start)
        let bytes = try self.file.read(count: count, at: start)
        return PackedBytes.pack(bytes, Zstandard.Compressor(), level: PackedBytes.transferLevel)
    }
}

extension StoreReader {
    static func snapshotName(_ path: String) -> String { "\(path).snapshot.partial" }

    /// Copies a store of a cluster at one position of its log, beside the writer. Needs free space for a copy in the
    /// store's directory, and `bytesLeftMin` more bytes that stay free. Blocks.
    package func snapshot(bytesLeftMin: Int, deadline: ReadDeadline = .none) throws(StoreError) -> StoreSnapshot {
        let name = Self.snapshotName(self.path)
        let descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            if errno == EEXIST { throw .refused(.busy, "another snapshot is being made") }
            throw .io(operation: "creating \(name)", errno: errno)
        }
        close(descriptor)
        defer { StoreFile.removePartial(name) }
        try self.copy(to: name, purpose: "a snapshot", copies: 1, bytesLeftMin: bytesLeftMin, deadline: deadline)
        let file = try SpoolFile(reading: name)
        let byteCount = try file.size()
        return StoreSnapshot(try Self.describe(name, file, byteCount), file)
    }

    private static func describe(_ path: String, _ file: SpoolFile, _ byteCount: Int) throws(StoreError) -> LogSnapshot
    {
        let connection = try Connection(path: path, role: .reader)
        defer { try? connection.close() }
        let (state, revision, model) = try connection.access { () throws(StoreError) in
            guard let state = try LogTable.read(connection, path: path) else {
                preconditionFailure("a store of a cluster")
            }
            let model = try Store.storedModel(connection, path: path)
            let newest = try Journal(connection: connection, layout: ModelLayout(model)).newest()
            return (state, newest?.revision ?? Revision(0), model)
        }
        var hash = RunningHash()
        var offset = 0
        while offset < byteCount {
            let piece = try file.read(count: min(Limits.logPartBytes, byteCount - offset), at: offset)
            hash.update(piece)
            offset += piece.count
        }
        return LogSnapshot(
            position: state.position,
            revision: revision,
            modelHash: model.hash,
            byteCount: Int64(byteCount),
            checksum: hash.finish(),
            partCount: (byteCount + Limits.logPartBytes - 1) / Limits.logPartBytes
        )
    }
}

/// Lays a snapshot of the log down at a store's path: create it, add all parts in order, publish. Until then, and
/// after a crash, the path has what it had.
package final class SnapshotDownload {
    private let snapshot: LogSnapshot
    private let path: String
    private let lock: StoreLock
    private let partial: String
    private let file: SpoolFile
    private var hash: RunningHash? = RunningHash()
    private var count = 0
    private var partCount = 0

    /// Locks the store. Precondition: no `Store` of this process has it open.
    package init(_ snapshot: LogSnapshot, at path: String) throws(StoreError) {
        self.snapshot = snapshot
        self.path = try StoreFile.resolve(path)
        try StoreFile.checkKind(self.path)
        self.lock = try StoreLock(storePath: self.path)
        self.partial = self.path + ".being-made"
        StoreFile.removePartial(self.partial)
        self.file = try SpoolFile(creating: self.partial)
    }

    deinit {
        StoreFile.removePartial(self.partial)
    }

    /// `packed`: the next part as the log has it.
    package func add(_ packed: [UInt8]) throws(StoreError) {
        let bytes: [UInt8]
        do {
            bytes = try PackedBytes.unpack(packed, sizeMax: Limits.logPartBytes)
        } catch {
            throw Self.damaged("its part \(self.partCount) cannot be unpacked")
        }
        guard bytes.count == min(Limits.logPartBytes, Int(self.snapshot.byteCount) - self.count) else {
            throw Self.damaged("its part \(self.partCount) has \(bytes.count) bytes")
        }
        try self.file.write(bytes, at: self.count)
        self.hash?.update(bytes)
        self.count += bytes.count
        self.partCount += 1
    }

    /// Gives the file the store's path, in the place of a store that was there. `store`: the number of the store in the
    /// log.
    package func publish(store: Int64) throws(StoreError) {
        guard let hash = self.hash.take() else { preconditionFailure("a snapshot is published once") }
        guard self.count == Int(self.snapshot.byteCount), hash.finish() == self.snapshot.checksum else {
            throw Self.damaged("its checksum is another one")
        }
        let connection = try Connection(path: self.partial, role: .copy)
        defer { try? connection.close() }
        try connection.access { () throws(StoreError) in
            _ = try Store.storedModel(connection, path: self.partial)
            guard var state = try LogTable.read(connection, path: self.partial),
                state.position == self.snapshot.position
            else { throw Self.damaged("it is of another position") }
            guard state.store != store else { return }
            state.store = store
            try LogTable.write(state, connection)
        }
        try connection.close()
        StoreFile.handOver(self.partial)
        try Store.emptyLog(of: self.path)
        Failpoint.snapshotLaid.pass()
        try StoreFile.publish(self.partial, as: self.path)
    }

    private static func damaged(_ reason: String) -> StoreError {
        .logDamaged("a snapshot in the cluster's log: \(reason)")
    }
}
