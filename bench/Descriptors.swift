import Glibc
import NestModel
import NestProtocol

/// The file descriptors of this process.
enum Descriptors {
    /// Raises the soft limit to the hard limit and returns the number of connections that the descriptors allow.
    static func connectionsMax() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 512 }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return Int(min(limit.rlim_cur, 1 << 20)) - Limits.fileDescriptorsReserved - 100
    }
}
