/// The first eight bytes from each side, the same in all versions: "NEST", then its protocol versions.
///
///     client  4e 45 53 54  highest  lowest  0  0
///     server  4e 45 53 54  chosen   highest lowest 0     chosen 0: no common version, the server closes
package struct Preface: Equatable, Sendable {
    package static let byteCount = 8
    package static let magic: [UInt8] = [0x4e, 0x45, 0x53, 0x54]

    package var bytes: [UInt8]

    /// `bytes`: the eight received bytes.
    package init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    package static let client = Preface(
        bytes: Self.magic + [ProtocolVersion.highest, ProtocolVersion.lowest, 0, 0]
    )

    package static func server(chosen: UInt8) -> Preface {
        Preface(bytes: Self.magic + [chosen, ProtocolVersion.highest, ProtocolVersion.lowest, 0])
    }

    /// Returns the version that both sides support, or `nil`.
    package static func version(clientHighest: UInt8, clientLowest: UInt8) -> UInt8? {
        let highest = min(clientHighest, ProtocolVersion.highest)
        return highest >= max(clientLowest, ProtocolVersion.lowest) && highest > 0 ? highest : nil
    }
}
