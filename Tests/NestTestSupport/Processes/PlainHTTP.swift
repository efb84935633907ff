import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// A minimal HTTP client that returns the exact response.
public enum PlainHTTP {
    public struct Answer: Sendable {
        public var status: Int
        /// The header fields by lowercase name.
        public var headers: [String: String]
        public var body: String
    }

    /// Sends a request to a server on this machine and reads until it closes. Blocks its thread.
    public static func get(_ path: String, port: Int, method: String = "GET") throws -> Answer {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        limitWaits(onSocket: descriptor)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw ProcessFailure("no server listens on port \(port)") }
        let request = Array("\(method) \(path) HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".utf8)
        guard write(descriptor, request, request.count) == request.count else { throw ProcessFailure("cannot send") }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &piece, piece.count)
            guard count >= 0 else { throw ProcessFailure("cannot read the response") }
            if count == 0 { break }
            bytes += piece.prefix(count)
        }
        let text = String(decoding: bytes, as: UTF8.self)
        let parts = text.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
        let lines = parts[0].split(separator: "\r\n")
        guard parts.count == 2, let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        else {
            throw ProcessFailure("invalid response: \(text)")
        }
        let headers = lines.dropFirst().map { line in
            let field = line.split(separator: ":", maxSplits: 1)
            return (field[0].lowercased(), field.count > 1 ? field[1].trimmingCharacters(in: .whitespaces) : "")
        }
        return Answer(status: status, headers: Dictionary(headers) { $1 }, body: String(parts[1]))
    }
}
