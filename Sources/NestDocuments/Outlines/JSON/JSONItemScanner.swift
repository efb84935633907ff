/// Finds where items begin and end in JSON. The scanner knows only strings and brackets. It collects each item's text,
/// with a 0 in place of its children; Foundation decides whether that is JSON.
struct JSONItemScanner: Sendable {
    enum Event {
        /// The bytes are used up.
        case none
        /// A child begins; its brace has been read.
        case begin
        /// The item has ended.
        case end
        /// The brackets of a value nest too deeply.
        case tooDeep
    }

    /// An item whose object is open.
    struct Item: Sendable {
        let start: TextLocation
        /// The row's number.
        let number: Int
        fileprivate(set) var text: [UInt8] = [UInt8(ascii: "{")]
        /// How many brackets are open in a value of the item.
        fileprivate var nesting = 0
        fileprivate var isInString = false
        fileprivate var isAfterBackslash = false
        /// The range of the item's last string in the text, where that string begins, and the name of the current
        /// member.
        fileprivate var lastString = 0..<0
        fileprivate var stringStart = 0
        fileprivate var name: Range<Int>?
        /// Where the open array of children begins in the text.
        fileprivate var childrenStart: Int?
        /// Whether the text has a 0 for children, so that it differs from the file.
        fileprivate var hasMark = false
        /// Whether its row is complete; the text is then only what follows.
        private(set) var isTaken = false

        init(start: TextLocation, number: Int) {
            self.start = start
            self.number = number
        }

        /// Whether its array of children is open.
        var isAmongChildren: Bool { self.childrenStart != nil }

        /// Whether the text has more than children.
        var hasMore: Bool { self.text != Self.onlyChildren }
        private static let onlyChildren = Array("{\"children\":[0]}".utf8)

        func parse(_ names: JSONItem.Names) throws(FormatError) -> JSONItem {
            let isWhole = !self.hasMark && !self.isTaken
            return try JSONItem.parse(self.text, names, hasPosition: false, start: self.start, isWhole: isWhole)
        }

        /// Parses the members before the open array of children.
        func parseSoFar(_ names: JSONItem.Names) throws(FormatError) -> JSONItem {
            let text = self.text[..<(self.childrenStart ?? self.text.count)] + Array("[]}".utf8)
            return try JSONItem.parse(text, names, hasPosition: false, start: self.start, isWhole: false)
        }

        /// Records that the row is complete, and keeps only text that follows.
        mutating func take() {
            self.isTaken = true
            guard let start = self.childrenStart else { return }
            self.text = Array("{\"children\":".utf8) + self.text[start...]
            self.childrenStart = Array("{\"children\":".utf8).count
        }
    }

    private static let quote = UInt8(ascii: "\"")
    private static let backslash = UInt8(ascii: "\\")
    private static let mark = UInt8(ascii: "0")
    private static let comma = UInt8(ascii: ",")
    private static let childrenNames = JSONItem.childrenNames.map { Array("\"\($0)\"".utf8) }

    /// Continues with an item up to the next event.
    mutating func scan(_ bytes: [UInt8], _ index: inout Int, _ item: inout Item) -> Event {
        while index < bytes.count {
            let byte = bytes[index]
            if item.isInString {
                Self.takeString(bytes, &index, &item)
                continue
            }
            index += 1
            switch byte {
            case Self.quote:
                item.isInString = true
                item.stringStart = item.text.count
                item.text.append(byte)
            case 0x20, 0x09, 0x0a, 0x0d:
                // Space between children is dropped, so that a million children leave no million lines.
                if item.childrenStart == nil || item.nesting > 0 { item.text.append(byte) }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                if let event = Self.open(byte, &item) { return event }
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                item.text.append(byte)
                if item.nesting > 0 {
                    item.nesting -= 1
                } else if item.childrenStart != nil {
                    item.childrenStart = nil
                } else {
                    return .end
                }
            default:
                if item.nesting == 0, item.childrenStart == nil {
                    if byte == UInt8(ascii: ":") { item.name = item.lastString }
                    if byte == Self.comma { item.name = nil }
                }
                item.text.append(byte)
            }
        }
        return .none
    }

    /// Takes bytes up to the end of the string.
    private static func takeString(_ bytes: [UInt8], _ index: inout Int, _ item: inout Item) {
        let start = index
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            if item.isAfterBackslash {
                item.isAfterBackslash = false
            } else if byte == Self.backslash {
                item.isAfterBackslash = true
            } else if byte == Self.quote {
                item.isInString = false
                break
            }
        }
        item.text += bytes[start..<index]
        if !item.isInString, item.nesting == 0 { item.lastString = item.stringStart..<item.text.count }
    }

    private static func open(_ byte: UInt8, _ item: inout Item) -> Event? {
        if item.nesting == 0, item.childrenStart != nil, byte == UInt8(ascii: "{") {
            // Several children leave one 0.
            if item.text.last == Self.comma, item.text.dropLast().last == Self.mark { item.text.removeLast(2) }
            item.text.append(Self.mark)
            item.hasMark = true
            return .begin
        }
        if item.nesting == 0, item.childrenStart == nil, byte == UInt8(ascii: "["), let name = item.name,
            Self.childrenNames.contains(where: { $0.elementsEqual(item.text[name]) })
        {
            item.childrenStart = item.text.count
        } else {
            item.nesting += 1
            // Two less, for the brackets of the item itself and of an array around it.
            if item.nesting > JSONElement.depthMax - 2 { return .tooDeep }
        }
        item.text.append(byte)
        return nil
    }
}
