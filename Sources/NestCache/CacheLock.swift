#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A lock beside the file, which every process holds that has the file open: a damaged file is replaced only by a
/// process that is alone. The system releases the lock when the process ends.
final class CacheLock: Sendable {
    private let descriptor: Int32

    init(path: String) throws(CacheFileError) {
        self.descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard self.descriptor >= 0 else { throw CacheFileError("\(path): \(String(cString: strerror(errno)))") }
        self.share()
    }

    deinit {
        _ = close(self.descriptor)
    }

    /// Waits while another process replaces the file.
    func share() {
        while flock(self.descriptor, LOCK_SH) != 0, errno == EINTR {}
    }

    func release() { _ = flock(self.descriptor, LOCK_UN) }

    /// Returns whether no other process, and no other cache of this process, has the file open. If so, none can open
    /// it before `share`. Else the lock may be lost: call `share`.
    func isAlone() -> Bool { flock(self.descriptor, LOCK_EX | LOCK_NB) == 0 }
}

/// Why a file cannot be used.
struct CacheFileError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Makes an empty file that only its owner may read, if there is none.
func makeOwnFile(_ path: String) throws(CacheFileError) {
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw CacheFileError("\(path): \(String(cString: strerror(errno)))") }
    _ = close(descriptor)
}

func removeFile(_ path: String) {
    _ = unlink(path)
}
