import NestProtocol

/// The versions of this build.
package enum ServerVersion {
    package static let nest = "0.1.0"

    /// The compiler that built it.
    package static var swift: String {
        #if compiler(>=6.4)
        "6.4 or later"
        #elseif compiler(>=6.3)
        "6.3"
        #else
        "6.2"
        #endif
    }

    /// The protocol versions that the server supports.
    package static var protocols: String {
        let lowest = ProtocolVersion.lowest
        let highest = ProtocolVersion.highest
        return lowest == highest ? "\(lowest)" : "\(lowest)-\(highest)"
    }
}
