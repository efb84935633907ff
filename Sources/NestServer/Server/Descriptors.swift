import Glibc
import NestModel
import NestProtocol

/// The files and sockets that the process may have open.
package enum Descriptors {
    /// The numbers of connections that the descriptors are enough for.
    package struct Slots: Equatable, Sendable {
        /// Connections that are served.
        package var served: Int
        /// Connections that are accepted only to be refused as busy.
        package var refused: Int

        package init(served: Int, refused: Int) {
            self.served = served
            self.refused = refused
        }
    }

    /// The descriptors that connections leave free. libdispatch reads files of /proc while its threads are busy, and
    /// ends the process when it cannot open one.
    private static let spare: rlim_t = 4

    /// Whether that many are free, if those in use have the lowest numbers, which the kernel gives out first.
    static var hasSpare: Bool {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return true }
        let lowest = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)
        guard lowest >= 0 else { return errno != EMFILE && errno != ENFILE }
        close(lowest)
        return rlim_t(lowest) + self.spare <= limit.rlim_cur
    }

    /// Returns how many connections the process has descriptors for. Raises its soft limit as far as allowed. `files`:
    /// the number of files that the web port may have open.
    static func slots(wanted: Int, files: Int) -> Slots {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return Slots(served: wanted, refused: Limits.refusedConnectionsMax)
        }
        let needed = rlim_t(wanted + Limits.refusedConnectionsMax + Limits.fileDescriptorsReserved + files)
        if limit.rlim_cur < needed, limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = min(needed, limit.rlim_max)
            if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 { limit = raised }
        }
        return self.slots(wanted: wanted, descriptors: Int(min(limit.rlim_cur, needed)), files: files)
    }

    /// Reserves descriptors for everything else: at most half of them, when there are very few.
    package static func slots(wanted: Int, descriptors: Int, files: Int = 0) -> Slots {
        let reserved = min(Limits.fileDescriptorsReserved + files, descriptors / 2)
        let refused = max(1, min(Limits.refusedConnectionsMax, descriptors / 8))
        return Slots(served: max(1, min(wanted, descriptors - reserved - refused)), refused: refused)
    }
}
