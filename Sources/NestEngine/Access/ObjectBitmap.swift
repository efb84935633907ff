import NestModel

/// A set of object ids, in pages of 256 bits. Dense ids, such as those of an import, take a quarter of a byte each; ids
/// that are far apart take at most `pageBytes` each.
///
/// A log of the old pages makes it possible to roll back a group of changes.
package struct ObjectBitmap {
    private typealias Page = SIMD4<UInt64>
    /// The bytes of a page, its number, and their share of the table's empty slots.
    private static let pageBytes = 64

    private var pages: [Int64: Page] = [:]
    package private(set) var count = 0
    /// The pages as they were when the log began; a page that did not exist is recorded as empty.
    private var log: (pages: [Int64: Page], count: Int)?

    package init() {}

    package var isEmpty: Bool { self.count == 0 }
    package var byteCount: Int { (self.pages.capacity + (self.log?.pages.capacity ?? 0)) * Self.pageBytes }

    private static func location(_ id: ObjectID) -> (page: Int64, word: Int, bit: UInt64) {
        let raw = id.rawValue
        return (raw >> 8, Int(raw >> 6 & 3), 1 << UInt64(raw & 63))
    }

    package func contains(_ id: ObjectID) -> Bool {
        let location = Self.location(id)
        guard let page = self.pages[location.page] else { return false }
        return page[location.word] & location.bit != 0
    }

    /// All ids, ascending. O(n log n).
    package var ids: [ObjectID] {
        var ids: [ObjectID] = []
        for number in self.pages.keys.sorted() {
            guard let page = self.pages[number] else { continue }
            for word in 0..<4 {
                var bits = page[word]
                while bits != 0 {
                    let bit = Int64(word * 64 + bits.trailingZeroBitCount)
                    ids.append(ObjectID(number << 8 + bit))
                    bits &= bits - 1
                }
            }
        }
        return ids
    }

    /// Returns whether the id is new.
    @discardableResult
    package mutating func insert(_ id: ObjectID) -> Bool {
        let location = Self.location(id)
        let page = self.pages[location.page] ?? .zero
        guard page[location.word] & location.bit == 0 else { return false }
        self.note(location.page, page)
        self.pages[location.page, default: .zero][location.word] |= location.bit
        self.count += 1
        return true
    }

    /// Inserts all ids of a range. O(pages of the range).
    package mutating func insert(_ ids: ClosedRange<Int64>) { self.change(ids) { $0 |= $1 } }

    /// Removes all ids of a range. O(pages of the range).
    package mutating func remove(_ ids: ClosedRange<Int64>) { self.change(ids) { $0 &= ~$1 } }

    /// Calls `body` with each word that has ids of a range, and with their bits.
    private mutating func change(_ ids: ClosedRange<Int64>, _ body: (inout UInt64, _ bits: UInt64) -> Void) {
        var next = ids.lowerBound
        while next <= ids.upperBound {
            let number = next >> 8
            let last = min(ids.upperBound, number << 8 | 255)
            let before = self.pages[number] ?? .zero
            var page = before
            for word in Int(next >> 6 & 3)...Int(last >> 6 & 3) {
                let start = number << 8 | Int64(word) << 6
                let (low, high) = (UInt64(max(next, start) - start), UInt64(min(last, start + 63) - start))
                body(&page[word], (UInt64.max >> (63 - high + low)) << low)
            }
            if page != before {
                self.note(number, before)
                self.pages[number] = page == .zero ? nil : page
                self.count += Self.count(page) - Self.count(before)
            }
            next = last + 1
        }
    }

    private static func count(_ page: Page) -> Int {
        (0..<4).reduce(0) { $0 + page[$1].nonzeroBitCount }
    }

    /// Returns whether the set contained the id.
    @discardableResult
    package mutating func remove(_ id: ObjectID) -> Bool {
        let location = Self.location(id)
        guard var page = self.pages[location.page], page[location.word] & location.bit != 0 else { return false }
        self.note(location.page, page)
        page[location.word] &= ~location.bit
        self.pages[location.page] = page == .zero ? nil : page
        self.count -= 1
        return true
    }

    package mutating func removeAll() {
        self = ObjectBitmap()
    }

    // MARK: Log

    private mutating func note(_ number: Int64, _ page: Page) {
        guard self.log != nil, self.log?.pages[number] == nil else { return }
        self.log?.pages[number] = page
    }

    /// Begins the log: changes from now on can be rolled back.
    package mutating func beginLog() {
        self.log = ([:], self.count)
    }

    /// Keeps the changes since the log began, and ends the log.
    package mutating func endLog() {
        self.log = nil
    }

    /// Reverts the changes since the log began, and ends the log.
    package mutating func rollBack() {
        guard let log else { return }
        for (number, page) in log.pages { self.pages[number] = page == .zero ? nil : page }
        self.count = log.count
        self.log = nil
    }
}
