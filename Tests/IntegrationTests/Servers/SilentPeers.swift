import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// Connections to this machine that say nothing, or only what is no nest.
final class SilentPeers {
    private var descriptors: [Int32] = []

    /// `text`: what each says, if it can at once.
    init(_ count: Int, port: Int, saying text: String = "") {
        for _ in 0..<count {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(port).bigEndian
            address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    // Not blocking: it is under way, whatever is returned.
                    _ = connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            if !text.isEmpty { _ = send(descriptor, text, text.utf8.count, Int32(MSG_NOSIGNAL)) }
            self.descriptors.append(descriptor)
        }
    }

    func close() {
        for descriptor in self.descriptors { Glibc.close(descriptor) }
        self.descriptors = []
    }

    deinit {
        self.close()
    }
}

/// What the kernel says of a process.
enum ProcessFigures {
    static func descriptorCount(of pid: pid_t) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count
    }

    /// Kilobytes that are in memory.
    static func memory(of pid: pid_t) throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return Int(line?.filter(\.isNumber) ?? "") ?? 0
    }

    /// Seconds of processor time so far.
    static func processorTime(of pid: pid_t) throws -> Double {
        let text = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        // After the name, which may hold anything: user and system time are the 14th and 15th field of all.
        let fields = (text.split(separator: ")").last ?? "").split(separator: " ")
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Seconds of processor time of this thread.
    static func threadTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
