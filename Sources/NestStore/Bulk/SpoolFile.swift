import Glibc

/// A file in the store's directory for data that a transfer reads or stages. It is unlinked as soon as it is created,
/// so that nothing remains however the process ends.
///
/// Sendable without a lock: the descriptor never changes, and every call passes its own offset. One owner writes at a
/// time.
package final class SpoolFile: Sendable {
    private let descriptor: Int32

    /// Creates the file in `directory`.
    package init(directory: String) throws(StoreError) {
        var template = Array((directory + "/nest-spool-XXXXXX").utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw .io(operation: "creating a spool file in \(directory)", errno: errno) }
        unlink(template)
        self.descriptor = descriptor
    }

    /// Opens a file for reading. The file may be removed while it is open.
    init(reading path: String) throws(StoreError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .io(operation: "opening \(path)", errno: errno) }
        self.descriptor = descriptor
    }

    /// Creates a file that keeps its name. There must be none yet.
    init(creating path: String) throws(StoreError) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .io(operation: "creating \(path)", errno: errno) }
        self.descriptor = descriptor
    }

    deinit {
        close(self.descriptor)
    }

    /// Returns the number of bytes in the file.
    func size() throws(StoreError) -> Int {
        var status = stat()
        guard fstat(self.descriptor, &status) == 0 else { throw .io(operation: "reading a file's size", errno: errno) }
        return Int(status.st_size)
    }

    /// Writes all of `bytes`.
    func write(_ bytes: [UInt8], at offset: Int) throws(StoreError) {
        // The closure of `withUnsafeBytes` cannot throw a typed error: the `Result` keeps the type.
        let result = bytes.withUnsafeBytes { buffer -> Result<Void, StoreError> in
            do throws(StoreError) {
                return .success(try self.write(buffer, at: offset))
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    /// Writes all of `bytes`.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(StoreError) {
        var written = 0
        while written < bytes.count {
            let count = pwrite(
                self.descriptor,
                bytes.baseAddress! + written,
                bytes.count - written,
                off_t(offset + written)
            )
            if count < 0 {
                if errno == EINTR { continue }
                throw .io(operation: "writing a spool file", errno: errno)
            }
            written += count
        }
    }

    /// Reads exactly `count` bytes.
    package func read(count: Int, at offset: Int) throws(StoreError) -> [UInt8] {
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            while initialized < count {
                let got = pread(
                    self.descriptor,
                    buffer.baseAddress! + initialized,
                    count - initialized,
                    off_t(offset + initialized)
                )
                if got < 0, errno == EINTR { continue }
                if got <= 0 {
                    failure = got < 0 ? errno : EIO
                    return
                }
                initialized += got
            }
        }
        guard failure == 0 else { throw .io(operation: "reading a spool file", errno: failure) }
        return bytes
    }
}

/// A sequence of chunks in a spool file, each preceded by its length in four bytes.
package struct SpooledChunks: Sendable {
    package let file: SpoolFile
    /// What counts the bytes of the file until the last copy of these chunks is gone.
    private let holder: (any AnyObject & Sendable)?
    package private(set) var byteCount = 0
    package private(set) var chunkCount = 0

    package init(directory: String, heldBy holder: (any AnyObject & Sendable)? = nil) throws(StoreError) {
        self.file = try SpoolFile(directory: directory)
        self.holder = holder
    }

    package mutating func append(_ chunk: [UInt8]) throws(StoreError) {
        var record = ByteRecord(capacity: chunk.count + 4)
        record.append(chunk)
        let bytes = record.bytes
        try self.file.write(bytes, at: self.byteCount)
        self.byteCount += bytes.count
        self.chunkCount += 1
    }

    /// Returns the chunk that begins at `offset` and the offset of the next one; `nil` at the end. Start with 0.
    package func chunk(at offset: Int) throws(StoreError) -> (chunk: [UInt8], next: Int)? {
        guard offset < self.byteCount else { return nil }
        let header = try self.file.read(count: 4, at: offset)
        let count = header.reduce(0) { $0 << 8 | Int($1) }
        return (try self.file.read(count: count, at: offset + 4), offset + 4 + count)
    }
}

private struct ByteRecord {
    var bytes: [UInt8] = []

    init(capacity: Int) {
        self.bytes.reserveCapacity(capacity)
    }

    mutating func append(_ chunk: [UInt8]) {
        withUnsafeBytes(of: UInt32(chunk.count).bigEndian) { self.bytes.append(contentsOf: $0) }
        self.bytes.append(contentsOf: chunk)
    }
}
