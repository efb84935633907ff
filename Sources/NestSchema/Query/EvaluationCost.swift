import NestModel
import NestOrder

/// The estimated cost of finding out whether one object is a row. It decides which results follow a commit at once.
package struct EvaluationCost: Hashable, Sendable {
    /// The fixed part.
    package var nanoseconds: Int
    /// The part for each byte of the object's text.
    package var nanosecondsPerByte: Int

    package init(nanoseconds: Int, nanosecondsPerByte: Int = 0) {
        self.nanoseconds = nanoseconds
        self.nanosecondsPerByte = nanosecondsPerByte
    }

    package func nanoseconds(textBytes: Int) -> Int { self.nanoseconds + self.nanosecondsPerByte * textBytes }

    package static func + (a: EvaluationCost, b: EvaluationCost) -> EvaluationCost {
        EvaluationCost(
            nanoseconds: a.nanoseconds + b.nanoseconds,
            nanosecondsPerByte: a.nanosecondsPerByte + b.nanosecondsPerByte
        )
    }

    package static func - (a: EvaluationCost, b: EvaluationCost) -> EvaluationCost {
        EvaluationCost(
            nanoseconds: a.nanoseconds - b.nanoseconds,
            nanosecondsPerByte: a.nanosecondsPerByte - b.nanosecondsPerByte
        )
    }
}

extension ResultSource {
    /// The cost of a row without a predicate, changing the tree included; and of reading one other object.
    private static let own = EvaluationCost(nanoseconds: 200)
    private static let related = EvaluationCost(nanoseconds: 3_000)

    /// The cost of one changed object for a live result of this source.
    package var cost: EvaluationCost {
        var cost = Self.own
        for _ in self.relatedValues { cost = cost + Self.related }
        return cost + (self.filter?.cost ?? EvaluationCost(nanoseconds: 0))
    }

    /// The estimated memory of the source, in bytes.
    package var byteCount: Int { 256 + (self.filter?.byteCount ?? 0) + 128 * (self.sort.count + self.related.count) }
}

extension EvaluationCost {
    package func nanoseconds(_ row: ObjectRow) -> Int {
        self.nanosecondsPerByte == 0 ? self.nanoseconds : self.nanoseconds(textBytes: row.textBytes)
    }
}

extension ObjectRow {
    package var textBytes: Int {
        self.values.withSlots { slots in
            (0..<slots.count).reduce(0) { sum, slot in
                if case .text(let utf8) = slots[slot].content { sum + utf8.count } else { sum }
            }
        }
    }
}

extension CompiledComparison {
    var cost: EvaluationCost {
        var perByte = 0
        switch self.comparison.operator {
        case .like: perByte = 40 + 4 * (self.pattern?.wordCount ?? 0)
        case .contains: perByte = 5
        // The worst case: for each byte every instruction of the pattern.
        case .matches: perByte = 10 + 4 * (self.matcher?.instructionCount ?? 0)
        default: perByte = 0
        }
        // Folding examines each character.
        if !self.comparison.folding.isEmpty { perByte += 10 }
        return EvaluationCost(nanoseconds: 100, nanosecondsPerByte: perByte)
    }

    /// The estimated memory of the compiled comparison, in bytes.
    var byteCount: Int {
        let values = self.comparison.values.reduce(0) { $0 + 48 + $1.byteCount }
        // The values are stored three times: original, folded, and in a set.
        return 128 + 3 * values + (self.pattern?.byteCount ?? 0) + (self.matcher?.byteCount ?? 0)
    }
}
