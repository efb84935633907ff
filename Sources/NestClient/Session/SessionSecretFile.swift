import NestModel

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A file with the secret of a session, 32 hexadecimal digits, which only this user can read. All errors are `invalid`.
package struct SessionSecretFile {
    package let path: String

    package init(path: String) {
        self.path = path
    }

    /// Returns the session of the file, which is made if there is none. Programs that start at the same time get the
    /// same one.
    package func session() throws(NestError) -> Identifier128 {
        if let session = try self.read() { return session }
        var random = SystemRandomNumberGenerator()
        let session = Identifier128.random(using: &random)
        let temporary = try self.writeTemporary(session)
        defer { unlink(temporary) }
        if link(temporary, self.path) == 0 { return session }
        if errno == EEXIST, let other = try self.read() { return other }
        throw self.failure("create", self.path)
    }

    /// Replaces the session of the file, or makes the file.
    package func put(_ session: Identifier128) throws(NestError) {
        let temporary = try self.writeTemporary(session)
        guard rename(temporary, self.path) == 0 else {
            defer { unlink(temporary) }
            throw self.failure("replace", self.path)
        }
    }

    /// Returns the session of the file; `nil` if there is no file.
    package func read() throws(NestError) -> Identifier128? {
        let file = open(self.path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            throw self.failure("open", self.path)
        }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = bytes.withUnsafeMutableBytes { Self.read(file, $0) }
        guard count >= 0 else { throw self.failure("read", self.path) }
        let text = String(decoding: bytes[..<count].filter { $0 > 0x20 }, as: UTF8.self)
        guard let session = Identifier128(hex: text) else {
            throw NestError(.invalid, "\(self.path) contains no session: remove it to start a new one")
        }
        return session
    }

    private static func read(_ file: Int32, _ bytes: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            let count = readBytes(file, bytes.baseAddress, bytes.count)
            if count >= 0 || errno != EINTR { return count }
        }
    }

    /// A complete file gets the name, so that no other program finds a part of it.
    private func writeTemporary(_ session: Identifier128) throws(NestError) -> String {
        let parts = self.path.split(separator: "/", omittingEmptySubsequences: false)
        try StateDirectory.make(parts.dropLast().joined(separator: "/"))
        var random = SystemRandomNumberGenerator()
        let temporary = "\(self.path)~\(Identifier128.random(using: &random).hex)"
        try self.write(session, to: temporary)
        return temporary
    }

    private func write(_ session: Identifier128, to path: String) throws(NestError) {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw self.failure("create", path) }
        defer { close(file) }
        let bytes = Array("\(session.hex)\n".utf8)
        guard writeBytes(file, bytes, bytes.count) == bytes.count, fsync(file) == 0 else {
            throw self.failure("write", path)
        }
    }

    private func failure(_ verb: String, _ path: String) -> NestError {
        NestError(.invalid, "cannot \(verb) \(path): \(String(cString: strerror(errno)))")
    }
}

// `read` and `write` of the system, which methods of the same names hide.
private func readBytes(_ file: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(file, bytes, count)
}
private func writeBytes(_ file: Int32, _ bytes: [UInt8], _ count: Int) -> Int { write(file, bytes, count) }
