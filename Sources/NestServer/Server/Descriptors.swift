import Glibc
import NestModel
import NestProtocol

/// How many files and sockets the process may have open.
package enum Descriptors {
    /// How connections share what there is.
    package struct Places: Equatable, Sendable {
        /// Connections that are served.
        package var served: Int
        /// Connections that are told that the server is busy.
        package var refused: Int

        package init(served: Int, refused: Int) {
            self.served = served
            self.refused = refused
        }
    }

    /// How many connections can be had with the descriptors the process may have; raises its soft limit as far as it may
    /// be raised.
    static func places(wanted: Int) -> Places {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return Places(served: wanted, refused: Limits.refusedConnectionsMax)
        }
        let needed = rlim_t(wanted + Limits.refusedConnectionsMax + Limits.fileDescriptorsReserved)
        if limit.rlim_cur < needed, limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = min(needed, limit.rlim_max)
            if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 { limit = raised }
        }
        return self.places(wanted: wanted, descriptors: Int(min(limit.rlim_cur, needed)))
    }

    /// With very few descriptors what is kept back shrinks, but never below half of them.
    package static func places(wanted: Int, descriptors: Int) -> Places {
        let reserved = min(Limits.fileDescriptorsReserved, descriptors / 2)
        let refused = max(1, min(Limits.refusedConnectionsMax, descriptors / 8))
        return Places(served: max(1, min(wanted, descriptors - reserved - refused)), refused: refused)
    }
}
