/// An error in the text of faults or of a script.
public struct FaultsError: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// The text form of faults: words separated by spaces, such as `delay=50ms throttle=64k to-client`.
extension Faults: CustomStringConvertible {
    public static let words =
        "calm, delay=TIME, throttle=BYTES, resegment=N|random, cut=N, reset=N, stall=N, half-open=N, refuse, to-server, to-client"

    public init(_ text: String) throws(FaultsError) {
        self.init()
        let words = text.split(separator: " ")
        guard !words.isEmpty else { throw FaultsError("faults are missing; write \(Self.words)") }
        for word in words { try self.add(word) }
    }

    private mutating func add(_ word: Substring) throws(FaultsError) {
        let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
        let value = parts.count == 2 ? parts[1] : ""
        switch (parts[0], parts.count) {
        case ("calm", 1): break
        case ("refuse", 1): self.isRefusing = true
        case ("delay", 2): self.delayMilliseconds = try Self.milliseconds(value)
        case ("throttle", 2): self.bytesPerSecond = max(try Self.bytes(value), 1)
        case ("resegment", 2): self.segments = value == "random" ? .random : .of(max(try Self.bytes(value), 1))
        case (let name, let count):
            if count == 1, let direction = ProxyDirection(rawValue: name) {
                self.direction = direction
            } else if let kind = Break(rawValue: name) {
                self.breaking = Breaking(kind, afterBytes: count == 2 ? try Self.bytes(value) : 0)
            } else {
                throw FaultsError("'\(word)' is not a fault; write \(Self.words)")
            }
        }
    }

    /// Parses `250`, `250ms` or `1.5s`; a number without a unit is milliseconds.
    public static func milliseconds(_ text: String) throws(FaultsError) -> Int {
        let (digits, scale) =
            if text.hasSuffix("ms") {
                (text.dropLast(2), 1.0)
            } else if text.hasSuffix("s") {
                (text.dropLast(), 1_000.0)
            } else {
                (text[...], 1.0)
            }
        guard let number = Double(digits), number >= 0, number * scale <= 86_400_000 else {
            throw FaultsError("'\(text)' is not a time; write 250ms or 1.5s")
        }
        return Int(number * scale)
    }

    /// Parses `10000`, `64k` or `1m`.
    public static func bytes(_ text: String) throws(FaultsError) -> Int {
        let scale = text.hasSuffix("k") ? 1 << 10 : text.hasSuffix("m") ? 1 << 20 : 1
        guard let number = Int(scale == 1 ? text[...] : text.dropLast()), 0...1 << 32 ~= number else {
            throw FaultsError("'\(text)' is not a number of bytes; write 10000, 64k or 1m")
        }
        return number * scale
    }

    public var description: String {
        var words: [String] = []
        if self.delayMilliseconds > 0 { words.append("delay=\(self.delayMilliseconds)ms") }
        if let rate = self.bytesPerSecond { words.append("throttle=\(rate)") }
        switch self.segments {
        case .asTheyCome: break
        case .of(let size): words.append("resegment=\(size)")
        case .random: words.append("resegment=random")
        }
        if let breaking = self.breaking { words.append("\(breaking.kind.rawValue)=\(breaking.afterBytes)") }
        if self.isRefusing { words.append("refuse") }
        if let direction = self.direction, !words.isEmpty { words.append(direction.rawValue) }
        return words.isEmpty ? "calm" : words.joined(separator: " ")
    }
}
