/// What is checked of the lines of a head before the decoder gets them.
struct WebLines {
    private static let lineFeed: UInt8 = 0x0a
    private static let carriageReturn: UInt8 = 0x0d
    /// How the first line ends. The decoder also knows other protocols that look like HTTP, and does not tell which it
    /// has found.
    private static let versions = [Array(" HTTP/1.1\r".utf8), Array(" HTTP/1.0\r".utf8)]
    private static let tailMax = Self.versions[0].count

    /// The last bytes of the line that is arriving.
    private var tail: [UInt8] = []
    private var hasFirst = false
    private var hasEmpty = false

    /// Takes a part of a line, or its LF.
    mutating func take(_ part: some BidirectionalCollection<UInt8>) throws(WebRefusal) {
        guard part.first == Self.lineFeed else {
            self.tail = Array((self.tail + part.suffix(Self.tailMax)).suffix(Self.tailMax))
            return
        }
        guard self.tail.last == Self.carriageReturn else {
            throw WebRefusal(.badRequest, "lines must end with CR LF")
        }
        defer { self.tail = [] }
        guard !self.hasFirst else { return }
        guard self.tail.count > 1 else {
            // Each would cost as much as a line of the head, and thousands have room in one.
            guard !self.hasEmpty else { throw WebRefusal(.badRequest, "one empty line at most may precede a request") }
            self.hasEmpty = true
            return
        }
        self.hasFirst = true
        guard Self.versions.contains(self.tail) else {
            throw WebRefusal(.versionNotSupported, "this port speaks HTTP/1.1")
        }
    }
}
