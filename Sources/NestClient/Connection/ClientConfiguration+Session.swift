import NestModel

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

extension ClientConfiguration {
    /// Uses the session that a program keeps for this user: the next run undoes the work of this one. The first call
    /// makes it; programs that start at the same time get the same one. Set the token before: each has a session of its
    /// own, because what is written with one token is not listed or undone with another.
    ///
    /// `program` names the program and all that shares its undo stack, such as `org.example.shop`: letters, digits,
    /// `.`, `-` and `_`, at most 100, not beginning with a `.`. The file is `PROGRAM` or `PROGRAM+tokenN`, readable by
    /// this user only, in `directory`; `nil`: `nest/programs` in `$XDG_STATE_HOME` or `~/.local/state`, on Apple's
    /// systems in `~/Library/Application Support`.
    ///
    /// The secret is sent to every server that the program connects to: use another name for a server of another
    /// operator.
    ///
    /// Throws `invalid` if the file cannot be read or written, or holds something else.
    public mutating func keepSession(of program: String, in directory: String? = nil) throws(NestError) {
        guard Self.isName(program) else {
            throw NestError(.invalid, "'\(program)' is no name of a program: use letters, digits, '.', '-' and '_'")
        }
        let home = if let directory { directory } else { try Self.stateDirectory() }
        let path = "\(home)/\(program)" + (self.token.map { "+token\($0.number)" } ?? "")
        self.session = try KeptSession(path: path).session()
    }

    private static func isName(_ text: String) -> Bool {
        guard (1...100).contains(text.utf8.count), !text.hasPrefix(".") else { return false }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }

    private static func stateDirectory() throws(NestError) -> String {
        func variable(_ name: String) -> String? {
            getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
        }
        #if canImport(Darwin)
        if let home = variable("HOME") { return "\(home)/Library/Application Support/nest/programs" }
        #else
        if let home = variable("XDG_STATE_HOME") { return "\(home)/nest/programs" }
        if let home = variable("HOME") { return "\(home)/.local/state/nest/programs" }
        #endif
        throw NestError(.invalid, "there is no home directory: name a directory for the session")
    }
}

/// The file of a session: 32 hexadecimal digits.
private struct KeptSession {
    let path: String

    /// Returns the session of the file, which is made if there is none.
    func session() throws(NestError) -> Identifier128 {
        if let session = try self.read() { return session }
        try self.makeDirectory()
        var random = SystemRandomNumberGenerator()
        let session = Identifier128.random(using: &random)
        // A complete file gets its name, so that no other program finds a part of it.
        let temporary = "\(self.path)~\(Identifier128.random(using: &random).hex)"
        defer { unlink(temporary) }
        try self.write(session, to: temporary)
        if link(temporary, self.path) == 0 { return session }
        if errno == EEXIST, let other = try self.read() { return other }
        throw self.failure("create", self.path)
    }

    private func read() throws(NestError) -> Identifier128? {
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

    private func write(_ session: Identifier128, to path: String) throws(NestError) {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw self.failure("create", path) }
        defer { close(file) }
        let bytes = Array("\(session.hex)\n".utf8)
        guard writeBytes(file, bytes, bytes.count) == bytes.count, fsync(file) == 0 else {
            throw self.failure("write", path)
        }
    }

    private func makeDirectory() throws(NestError) {
        var path = ""
        for part in self.path.split(separator: "/").dropLast() {
            path += (path.isEmpty && !self.path.hasPrefix("/") ? "" : "/") + part
            if mkdir(path, 0o700) != 0, errno != EEXIST { throw self.failure("create", path) }
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
