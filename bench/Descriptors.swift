import Glibc
import NestModel
import NestProtocol

/// What this process may have open.
enum Descriptors {
    /// Connections that there are descriptors for, after raising the soft limit as far as it goes.
    static func connectionsMax() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 512 }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return Int(min(limit.rlim_cur, 1 << 20)) - Limits.fileDescriptorsReserved - 100
    }
}
