import Glibc

/// Ports for programs that tests start. They are below those that the system gives to outgoing connections, so a port
/// stays free while its program is down. Each kind of program has a range of its own, because several test programs
/// run at once.
package enum FreePorts {
    /// Of PostgreSQL.
    package static let databases = 10_010..<11_000
    /// Of the commands of documents: no document shows a number of this range.
    package static let pages = 11_010..<12_000
    /// Of nestd.
    package static let servers = 12_000..<32_000

    /// Returns the first of `count` successive ports of the loopback interface that are free now.
    package static func first(of count: Int, in range: Range<Int>) throws -> Int {
        for _ in 0..<200 {
            let first = Int.random(in: range.lowerBound...range.upperBound - count)
            if (first..<first + count).allSatisfy(Self.isFree) { return first }
        }
        throw ProcessFailure("no \(count) successive ports of \(range) are free")
    }

    private static func isFree(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
