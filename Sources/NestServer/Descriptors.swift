import Glibc
import NestModel

/// How many files and sockets the process may have open.
enum Descriptors {
    /// How many connections can be served with the descriptors the process may have; raises its soft limit as far as
    /// it may be raised.
    static func connectionsMax(wanted: Int) -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return wanted }
        let needed = rlim_t(wanted + Limits.refusedConnectionsMax + Limits.fileDescriptorsReserved)
        if limit.rlim_cur < needed, limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = min(needed, limit.rlim_max)
            if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 { limit = raised }
        }
        let available = Int(min(limit.rlim_cur, needed)) - Limits.refusedConnectionsMax - Limits.fileDescriptorsReserved
        return max(1, min(wanted, available))
    }
}
