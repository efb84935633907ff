import NestModel
import NestProtocol

/// Where a program keeps its session with a server: one directory for each program, one file for each server and user.
package struct SessionPlace: Equatable, Sendable {
    /// The directory of the program.
    package var directory: String
    /// The name of the file in it.
    package var name: String
    package var path: String { "\(self.directory)/\(self.name)" }

    /// The longest name of a file, in bytes. Two prefixes of this length and a digest fit into the system's 255.
    private static let nameBytesMax = 180

    /// `directory`: that of all programs.
    package init(in directory: String, program: String, _ configuration: ClientConfiguration) {
        self.directory = "\(directory)/\(Self.short(Self.encoded(program)))"
        var parts = [
            Set(configuration.endpoints.map { "\(Self.encoded($0.host))_\($0.port)" }).sorted().joined(separator: ",")
        ]
        if let store = configuration.store { parts.append("store\(Self.encoded(store))") }
        if let token = configuration.token { parts.append("token\(token.number)") }
        if !configuration.user.isEmpty { parts.append("user\(Self.encoded(configuration.user))") }
        self.name = Self.short(parts.joined(separator: "+"))
    }

    /// The name of the executable file; `nil`: it cannot be known.
    package static var program: String? {
        guard let path = CommandLine.arguments.first else { return nil }
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        return name.isEmpty || name == "." || name == ".." ? nil : name
    }

    /// All bytes but letters, digits and `-` as `%XX`, and `.` and `_` except at the beginning: the parts of a name
    /// cannot be confused, no name is hidden, and none leads to another directory.
    private static func encoded(_ text: String) -> String {
        var result = ""
        for (index, byte) in text.utf8.enumerated() {
            let scalar = Unicode.Scalar(byte)
            let isPlain =
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "-")
                || index > 0 && (byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_"))
            if isPlain {
                result.unicodeScalars.append(scalar)
            } else {
                let digits = String(byte, radix: 16)
                result += "%" + (digits.count < 2 ? "0" : "") + digits
            }
        }
        return result
    }

    /// A long name is cut, and its digest follows.
    private static func short(_ name: String) -> String {
        guard name.utf8.count > Self.nameBytesMax else { return name }
        // FNV-1a: the name must stay the same for ever.
        let digest = name.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return "\(name.prefix(Self.nameBytesMax))~\(String(digest, radix: 16))"
    }
}
