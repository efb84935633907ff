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
        self.descriptor = try openOwnFile(path)
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

/// Makes an empty file that only its owner may read, if there is none. Throws if there is one that is no cache, or that
/// cannot be written.
func makeOwnFile(_ path: String) throws(CacheFileError) {
    let descriptor = try openOwnFile(path, isCache: true)
    _ = close(descriptor)
}

/// Opens a file of this user, and makes it if there is none. Only its owner may read it then. `isCache`: a file that is
/// neither empty nor a cache is refused, and not changed.
private func openOwnFile(_ path: String, isCache: Bool = false) throws(CacheFileError) -> Int32 {
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw CacheFileError("\(path): \(String(cString: strerror(errno)))") }
    do throws(CacheFileError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw CacheFileError("\(path): \(String(cString: strerror(errno)))")
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw CacheFileError("\(path) is no file") }
        guard status.st_uid == geteuid() else { throw CacheFileError("\(path) belongs to another user") }
        if isCache, status.st_size > 0, !hasApplicationID(descriptor) { throw CacheFileError("\(path) is no cache") }
        guard fchmod(descriptor, 0o600) == 0 else {
            throw CacheFileError("\(path): \(String(cString: strerror(errno)))")
        }
    } catch {
        _ = close(descriptor)
        throw error
    }
    return descriptor
}

/// Whether the header of SQLite has the application id of a cache.
private func hasApplicationID(_ descriptor: Int32) -> Bool {
    var bytes: [UInt8] = [0, 0, 0, 0]
    guard pread(descriptor, &bytes, bytes.count, 68) == bytes.count else { return false }
    return bytes.reduce(0) { $0 << 8 | Int($1) } == CacheStorage.applicationID
}

func removeFile(_ path: String) throws(CacheFileError) {
    guard unlink(path) == 0 || errno == ENOENT else {
        throw CacheFileError("\(path): \(String(cString: strerror(errno)))")
    }
}
