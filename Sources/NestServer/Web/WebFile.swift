import Glibc
import NIOCore
import NestModel
import NestProtocol

/// An open file that the web port sends. It reads on the threads for files, one part after the other.
package final class WebFile: Sendable {
    package let size: Int
    package let tag: WebTag
    package let type: String
    private let descriptor: Int32

    /// Takes over the descriptor.
    init(descriptor: Int32, status: stat, type: String) {
        self.descriptor = descriptor
        self.size = Int(status.st_size)
        self.tag = WebTag(status)
        self.type = type
    }

    deinit { close(self.descriptor) }

    /// Returns the bytes from `offset`: a part, or fewer at the end. Returns `nil` if the file has become shorter, or
    /// cannot be read. Blocks.
    package func part(at offset: Int) -> ByteBuffer? {
        let wanted = min(Limits.webFilePartBytes, self.size - offset)
        var bytes = [UInt8](repeating: 0, count: wanted)
        var count = 0
        while count < wanted {
            let read = bytes.withUnsafeMutableBytes {
                pread(self.descriptor, $0.baseAddress! + count, wanted - count, off_t(offset + count))
            }
            if read < 0, errno == EINTR { continue }
            guard read > 0 else { return nil }
            count += read
        }
        return ByteBuffer(bytes: bytes)
    }
}

/// The version of a file, as `ETag` has it. A file that is written again gets another one.
package struct WebTag: Equatable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }

    init(_ status: stat) {
        let parts = [
            UInt64(status.st_ino), UInt64(bitPattern: Int64(status.st_size)),
            UInt64(bitPattern: Int64(status.st_mtim.tv_sec)), UInt64(bitPattern: Int64(status.st_mtim.tv_nsec)),
        ]
        self.init("\"\(parts.map { String($0, radix: 16) }.joined(separator: "-"))\"")
    }

    /// Whether the client of a request with these values of `If-None-Match` has this version. A weak tag counts.
    package func matches(_ values: [String]) -> Bool {
        values.joined(separator: ",").split(separator: ",").contains { part in
            let part = part.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }
            return part == "*" || part == self.text || part == "W/\(self.text)"
        }
    }
}
