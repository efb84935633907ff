import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// Connections to this machine that send nothing, or bytes that are not nest's protocol.
final class SilentPeers {
    private var descriptors: [Int32] = []

    /// `text`: the bytes that each connection sends, if it can without waiting.
    init(_ count: Int, port: Int, saying text: String = "") {
        for _ in 0..<count {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(port).bigEndian
            address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    // The socket is nonblocking: the connection proceeds in the background, so the result is ignored.
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

/// Figures of a process from the kernel.
enum ProcessFigures {
    static func descriptorCount(of pid: pid_t) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count
    }

    /// The sockets among them. Files are fewer or more, depending on how many reads ran at a time.
    static func socketCount(of pid: pid_t) throws -> Int {
        let directory = "/proc/\(pid)/fd"
        return try FileManager.default.contentsOfDirectory(atPath: directory).count { name in
            // It may have been closed meanwhile.
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(directory)/\(name)"))?.hasPrefix("socket:")
                ?? false
        }
    }

    /// Returns the resident memory in kilobytes.
    static func memory(of pid: pid_t) throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return Int(line?.filter(\.isNumber) ?? "") ?? 0
    }

    /// Returns the processor time of a process in seconds.
    static func processorTime(of pid: pid_t) throws -> Double {
        let text = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        // User and system time are the 14th and 15th field. The name before them may contain any character but ends
        // with `)`.
        let fields = (text.split(separator: ")").last ?? "").split(separator: " ")
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Returns the processor time of this thread in seconds.
    static func threadTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
