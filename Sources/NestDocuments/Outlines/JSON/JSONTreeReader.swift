import NestModel

/// Reads items that hold their children: an array of objects (see `JSONItem`), one object, or one object on each line.
///
/// The reader cuts the bytes where items begin and end, and Foundation parses each item without its children. So
/// neither memory nor the stack grows with the size and depth of a tree. An item is complete when its object ends,
/// after its children. When more than `heldBytesMax` of text wait for that, the reader completes the items above the
/// current one with the members so far. If one of them has other members after its children, the reader refuses the
/// file at that location.
package struct JSONTreeReader: OutlineReader {
    private static let heldBytesMax = 8 << 20
    /// Enough for three values whose every byte is written as `\u0000`.
    private static let itemBytesMax = 20 * Limits.valueBytesMax

    private enum Top {
        case start
        case array(needsComma: Bool)
        case objects
        case ended
    }

    private var top = Top.start
    private var scanner = JSONItemScanner()
    private var stack: [JSONItemScanner.Item] = []
    private var location = TextLocation()
    private var first: [UInt8]? = []
    /// Waiting rows in preorder, from `heldStart` on; `nil` for one that is not complete. `firstNumber` is the number
    /// of the first.
    private var held: [OutlineRow?] = []
    private var heldStart = 0
    private var firstNumber = 0
    private var heldBytes = 0
    private let names: JSONItem.Names

    package init(_ fields: OutlineFields = OutlineFields()) {
        self.names = JSONItem.Names(fields)
    }

    package var warnings: [String] { [] }

    package mutating func read(_ bytes: [UInt8], into rows: inout [OutlineRow]) throws(FormatError) {
        guard let first = self.first else { return try self.scan(bytes, into: &rows) }
        guard first.count + bytes.count >= 3 else {
            self.first = first + bytes
            return
        }
        try self.begin(first + bytes, into: &rows)
    }

    package mutating func finish(into rows: inout [OutlineRow]) throws(FormatError) {
        if let first = self.first { try self.begin(first, into: &rows) }
        switch self.top {
        case .start where self.stack.isEmpty: return
        case .ended: return
        case .objects where self.stack.isEmpty: return
        default: throw self.location.failure("the JSON ends too early")
        }
    }

    private mutating func begin(_ bytes: [UInt8], into rows: inout [OutlineRow]) throws(FormatError) {
        self.first = nil
        if bytes.prefix(2).contains(0) { throw UTF8Text.wide }
        try self.scan(Array(bytes.dropFirst(try UTF8Text.markCount(bytes))), into: &rows)
    }

    private mutating func scan(_ bytes: [UInt8], into rows: inout [OutlineRow]) throws(FormatError) {
        var index = 0
        while index < bytes.count {
            if self.stack.isEmpty {
                try self.takeTop(bytes[index])
                self.location.advance(over: bytes[index])
                index += 1
                continue
            }
            let start = index
            let event = self.scanner.scan(bytes, &index, &self.stack[self.stack.count - 1])
            self.heldBytes += index - start
            // An item begins at its brace.
            let before = event == .begin ? index - 1 : index
            self.location.advance(over: bytes[start..<before])
            switch event {
            case .none: break
            case .begin:
                self.open()
                self.location.advance(over: bytes[before..<index])
            case .end: try self.close()
            case .tooDeep:
                throw self.location.failure("more than \(JSONElement.depthMax) arrays and objects in one value")
            }
            guard self.stack.last.map({ $0.text.count <= Self.itemBytesMax }) ?? true else {
                throw self.stack[self.stack.count - 1].start.failure("an item of more than \(Self.itemBytesMax) bytes")
            }
            if self.heldBytes > Self.heldBytesMax { try self.force() }
            self.release(into: &rows)
        }
        self.release(into: &rows)
    }

    /// Takes a byte outside of all items.
    private mutating func takeTop(_ byte: UInt8) throws(FormatError) {
        switch (self.top, byte) {
        case (_, 0x20), (_, 0x09), (_, 0x0a), (_, 0x0d): break
        case (.start, UInt8(ascii: "[")): self.top = .array(needsComma: false)
        case (.start, UInt8(ascii: "{")), (.objects, UInt8(ascii: "{")):
            self.top = .objects
            self.open()
        case (.array(needsComma: false), UInt8(ascii: "{")):
            self.top = .array(needsComma: true)
            self.open()
        case (.array(needsComma: true), UInt8(ascii: ",")): self.top = .array(needsComma: false)
        case (.array, UInt8(ascii: "]")): self.top = .ended
        case (.array(needsComma: true), _): throw self.location.failure("a comma or the array's end is expected here")
        case (.ended, _): throw self.location.failure("something follows the end of the array")
        default: throw self.location.failure("an item is expected here: a JSON object")
        }
    }

    private mutating func open() {
        self.stack.append(JSONItemScanner.Item(start: self.location, number: self.firstNumber + self.heldCount))
        self.held.append(nil)
    }

    private var heldCount: Int { self.held.count - self.heldStart }

    /// Ends the innermost item.
    private mutating func close() throws(FormatError) {
        let item = self.stack.removeLast()
        if item.isTaken {
            guard item.hasMore else { return }
            let parsed = try item.parse(self.names)
            guard parsed.isOnlyChildren else {
                throw self.location.failure(
                    "members after the children of a large item; put \"children\" last, or use the format jsonl"
                )
            }
        } else {
            try self.complete(item, try item.parse(self.names), depth: self.stack.count)
        }
    }

    private mutating func complete(_ item: JSONItemScanner.Item, _ parsed: JSONItem, depth: Int) throws(FormatError) {
        guard parsed.title != nil else { throw item.start.failure("an item without a title") }
        var row = parsed.row(depth: depth)
        try row.check(at: item.start)
        self.held[self.heldStart + item.number - self.firstNumber] = row
    }

    /// Completes the open items with the members before their children.
    private mutating func force() throws(FormatError) {
        for depth in self.stack.indices where self.stack[depth].isAmongChildren && !self.stack[depth].isTaken {
            let parsed = try self.stack[depth].parseSoFar(self.names)
            try self.complete(self.stack[depth], parsed, depth: depth)
            self.stack[depth].take()
        }
        self.heldBytes = 0
    }

    /// Appends the complete rows that no incomplete row precedes.
    private mutating func release(into rows: inout [OutlineRow]) {
        while self.heldStart < self.held.count, let row = self.held[self.heldStart] {
            rows.append(row)
            self.held[self.heldStart] = nil
            self.heldStart += 1
            self.firstNumber += 1
        }
        if self.heldStart == self.held.count {
            self.held.removeAll(keepingCapacity: true)
            self.heldStart = 0
            if self.stack.isEmpty { self.heldBytes = 0 }
        } else if self.heldStart > 1 << 16 {
            self.held.removeSubrange(..<self.heldStart)
            self.heldStart = 0
        }
    }
}
