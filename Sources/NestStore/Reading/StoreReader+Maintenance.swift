import Glibc
import NestProtocol
import NestModel

/// A whole store as a file, in parts that can be sent. The file is marked as a copy: a store made from it gets its own
/// history id.
package struct StoreBackup: Sendable {
    package let revision: Revision
    /// The history id of the store that was copied.
    package let historyID: Identifier128
    package let fileBytes: Int
    /// The file in parts, each with its offset.
    package let chunks: SpooledChunks
    /// FNV-1a of the file.
    package let checksum: UInt64
}

/// Backs up and checks a whole store while its writer works. Commits continue meanwhile; the write-ahead log cannot be
/// reset until the read transaction ends, at the latest at the read deadline.
extension StoreReader {
    /// The temporary names of backups, one for each thread that may make one.
    static func backupNames(_ path: String) -> [String] {
        (1...Limits.transferThreads).map { "\(path).backup-\($0).partial" }
    }

    /// Copies the store at one revision. Needs free space for two copies in the store's directory, and `bytesLeftMin`
    /// more bytes that stay free. Blocks. `encode` returns the bytes that are sent for a part at an offset. `deadline`
    /// limits the copying, which holds a read transaction. Packing the copy holds none, so it ends early only if the
    /// client cancels.
    package func backup(
        isCompressed: Bool,
        bytesLeftMin: Int,
        deadline: ReadDeadline,
        encode: (_ offset: Int, _ packed: [UInt8]) -> [UInt8]
    ) throws(NestError) -> StoreBackup {
        do throws(StoreError) {
            let file = try Self.takeName(self.path)
            defer { StoreFile.removePartial(file) }
            try self.copy(to: file, purpose: "a backup", copies: 2, bytesLeftMin: bytesLeftMin, deadline: deadline)
            try Store.markAsCopy(file)
            Failpoint.backupMade.pass()
            let (revision, historyID) = try self.names(of: file)
            return try self.spool(
                file,
                revision: revision,
                historyID: historyID,
                compressor: isCompressed ? Zstandard.Compressor() : nil,
                deadline: deadline,
                encode: encode
            )
        } catch {
            throw error.nestError
        }
    }

    /// Checks the store at one revision. Blocks; `progress` is called before each step.
    package func check(
        deadline: ReadDeadline,
        progress: (CheckStep) -> Void
    ) throws(NestError) -> CheckReport {
        do throws(StoreError) {
            let connection = try Connection(path: self.path, role: .reader)
            defer { try? connection.close() }
            return try connection.limited(by: deadline, "check a backup, with nestd --check --store FILE") {
                () throws(StoreError) in
                try connection.access { () throws(StoreError) in
                    try connection.beginReading()
                    defer { try? connection.execute("ROLLBACK") }
                    var check = StoreCheck(connection, self.layout)
                    return try check.run(progress: progress)
                }
            }
        } catch {
            throw error.nestError
        }
    }

    /// Creates an empty file under a name that no other backup uses.
    private static func takeName(_ path: String) throws(StoreError) -> String {
        for name in self.backupNames(path) {
            let descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            if descriptor >= 0 {
                close(descriptor)
                return name
            }
            guard errno == EEXIST else { throw .io(operation: "creating \(name)", errno: errno) }
        }
        throw .refused(.busy, "other backups are running: try again later")
    }

    /// `copies`: how many copies of the store the directory must have space for.
    func copy(
        to file: String,
        purpose: String,
        copies: Int,
        bytesLeftMin: Int,
        deadline: ReadDeadline
    ) throws(StoreError) {
        let connection = try Connection(path: self.path, role: .reader)
        defer { try? connection.close() }
        try connection.limited(by: deadline, "stop nestd and copy its file") { () throws(StoreError) in
            try connection.access { () throws(StoreError) in
                let pages = try connection.prepare(
                    "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
                )
                let size = try pages.step() ? Int(pages.integer(0)) : 0
                pages.reset()
                let needed = copies * size + bytesLeftMin
                if let free = StoreHealth.freeBytes(self.spoolDirectory), free < needed {
                    throw .refused(
                        .diskFull,
                        """
                        \(purpose) needs space for \(copies == 1 ? "a copy" : "two copies") of the store next to it, and \
                        \(bytesLeftMin >> 20) MiB that stay free, \(needed >> 20) MiB in total: \(free >> 20) MiB are \
                        free
                        """
                    )
                }
                // The connection is read-only, but it must write the copy.
                try connection.execute("PRAGMA query_only = OFF")
                let statement = try connection.prepare("VACUUM INTO ?1")
                statement.bind(1, text: file)
                try statement.run()
            }
        }
    }

    private func names(of file: String) throws(StoreError) -> (Revision, Identifier128) {
        let connection = try Connection(path: file, role: .reader)
        defer { try? connection.close() }
        return try connection.access { () throws(StoreError) in
            let newest = try Journal(connection: connection, layout: self.layout).newest()
            return (newest?.revision ?? Revision(0), try Store.historyID(connection, path: file))
        }
    }

    private func spool(
        _ file: String,
        revision: Revision,
        historyID: Identifier128,
        compressor: Zstandard.Compressor?,
        deadline: ReadDeadline,
        encode: (_ offset: Int, _ packed: [UInt8]) -> [UInt8]
    ) throws(StoreError) -> StoreBackup {
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .io(operation: "opening \(file)", errno: errno) }
        defer { close(descriptor) }
        var chunks = try SpooledChunks(directory: self.spoolDirectory)
        var offset = 0
        var checksum = SubtreeChecksum()
        while true {
            let piece = try Self.read(descriptor, at: offset, file)
            guard !piece.isEmpty else { break }
            guard !deadline.isCancelled() else { throw deadline.reason("") }
            checksum.add(piece)
            try chunks.append(encode(offset, PackedBytes.pack(piece, compressor, level: PackedBytes.transferLevel)))
            offset += piece.count
        }
        return StoreBackup(
            revision: revision,
            historyID: historyID,
            fileBytes: offset,
            chunks: chunks,
            checksum: checksum.value
        )
    }

    /// Reads up to `Limits.chunkBytes` bytes; none at the end of the file.
    private static func read(_ descriptor: Int32, at offset: Int, _ file: String) throws(StoreError) -> [UInt8] {
        var failure: Int32 = 0
        let piece = [UInt8](unsafeUninitializedCapacity: Limits.chunkBytes) { buffer, count in
            while count < Limits.chunkBytes {
                let got = pread(
                    descriptor,
                    buffer.baseAddress! + count,
                    Limits.chunkBytes - count,
                    off_t(offset + count)
                )
                if got < 0, errno == EINTR { continue }
                if got < 0 { failure = errno }
                if got <= 0 { return }
                count += got
            }
        }
        guard failure == 0 else { throw .io(operation: "reading \(file)", errno: failure) }
        return piece
    }
}
