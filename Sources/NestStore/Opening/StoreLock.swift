import Glibc

/// The lock file next to a store. Only the process that holds the lock may open the store; the lock ends with the
/// process.
final class StoreLock {
    private let descriptor: Int32

    init(storePath: String) throws(StoreError) {
        let path = storePath + ".lock"
        // O_NOFOLLOW: in a directory of another user, a symbolic link could lead root to any file.
        let flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW
        var descriptor = open(path, flags | O_CREAT | O_EXCL, 0o600)
        if descriptor >= 0 {
            StoreFile.handOver(path)
        } else if errno == EEXIST {
            descriptor = open(path, flags)
        }
        guard descriptor >= 0 else {
            if [ENOSPC, EDQUOT, EIO].contains(errno) {
                throw .io(operation: "making the lock file \(path)", errno: errno)
            }
            throw .cannotOpen(path: storePath, reason: "the lock file \(path): \(String(cString: strerror(errno)))")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let pid = Self.readPID(descriptor)
            close(descriptor)
            throw .locked(path: storePath, pid: pid)
        }
        ftruncate(descriptor, 0)
        let text = "\(getpid())\n"
        _ = text.withCString { pwrite(descriptor, $0, strlen($0), 0) }
        self.descriptor = descriptor
    }

    private static func readPID(_ descriptor: Int32) -> Int32? {
        var bytes = [UInt8](repeating: 0, count: 32)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        guard count > 0 else { return nil }
        return Int32(String(decoding: bytes[..<count], as: UTF8.self).prefix { $0.isNumber })
    }

    deinit {
        close(self.descriptor)
    }
}
