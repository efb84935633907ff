import NestModel

extension ClientConfiguration {
    /// Uses a session that all clients and programs of this user share that name it, also at the same time: the next
    /// run undoes the work of this one. (A client that is `.kept`, as by default, has its session alone.) The first
    /// call makes it; programs that start at the same time get the same one. Set the token before: each has a session
    /// of its own, because what is written with one token is not listed or undone with another.
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
        let home = if let directory { directory } else { try StateDirectory.path("programs") }
        let path = "\(home)/\(program)" + (self.token.map { "+token\($0.number)" } ?? "")
        self.session = .secret(try SessionSecretFile(path: path).session())
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
}
