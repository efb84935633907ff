import NestModel

/// A set of slots of a layout, one bit for each: an entity has at most 256 properties.
package struct SlotSet: Hashable, Sendable {
    private var a: UInt64 = 0
    private var b: UInt64 = 0
    private var c: UInt64 = 0
    private var d: UInt64 = 0

    package init() {}

    package func contains(_ slot: Int) -> Bool {
        let bit: UInt64 = 1 << UInt64(slot & 63)
        return switch slot >> 6 {
        case 0: self.a & bit != 0
        case 1: self.b & bit != 0
        case 2: self.c & bit != 0
        default: self.d & bit != 0
        }
    }

    /// Returns whether the slot was new.
    @discardableResult
    package mutating func insert(_ slot: Int) -> Bool {
        // A model with more properties in one tree of entities does not compile.
        precondition(slot >= 0 && slot < 256, "a slot is below 256")
        guard !self.contains(slot) else { return false }
        let bit: UInt64 = 1 << UInt64(slot & 63)
        switch slot >> 6 {
        case 0: self.a |= bit
        case 1: self.b |= bit
        case 2: self.c |= bit
        default: self.d |= bit
        }
        return true
    }

    package var isEmpty: Bool { self.a | self.b | self.c | self.d == 0 }
}
