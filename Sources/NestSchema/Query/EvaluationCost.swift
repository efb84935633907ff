import NestModel

/// What it takes to find out whether one object is a row, by estimate: for deciding which results follow a commit at once.
package struct EvaluationCost: Hashable, Sendable {
    /// Whatever the object holds.
    package var nanoseconds: Int
    /// For each byte of text that the object holds.
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
    /// Of a row without a predicate; what the tree takes when it changes; one look at another object.
    private static let own = EvaluationCost(nanoseconds: 200)
    private static let related = EvaluationCost(nanoseconds: 3_000)

    /// What one changed object costs a live result of this source.
    package var cost: EvaluationCost {
        var cost = Self.own
        for _ in self.relatedValues { cost = cost + Self.related }
        return cost + (self.filter?.cost ?? EvaluationCost(nanoseconds: 0))
    }

    /// About what the source takes where it is kept.
    package var byteCount: Int { 256 + (self.filter?.byteCount ?? 0) + 128 * (self.sort.count + self.related.count) }
}

extension EvaluationCost {
    package func nanoseconds(_ row: ObjectRow) -> Int {
        self.nanosecondsPerByte == 0 ? self.nanoseconds : self.nanoseconds(textBytes: row.textBytes)
    }
}

extension ObjectRow {
    package var textBytes: Int {
        self.values.reduce(0) { sum, value in
            if case .string(let text) = value { sum + text.utf8.count } else { sum }
        }
    }
}

extension CompiledComparison {
    var cost: EvaluationCost {
        var perByte = 0
        switch self.comparison.operator {
        case .like: perByte = 40 + 4 * (self.pattern?.wordCount ?? 0)
        case .contains: perByte = 5
        default: perByte = 0
        }
        // Letters are looked at one by one.
        if !self.comparison.folding.isEmpty { perByte += 10 }
        return EvaluationCost(nanoseconds: 100, nanosecondsPerByte: perByte)
    }

    /// About what it takes, made ready.
    var byteCount: Int {
        let values = self.comparison.values.reduce(0) { $0 + 48 + $1.byteCount }
        // As they came, folded, and in a set.
        return 128 + 3 * values + (self.pattern?.byteCount ?? 0)
    }
}
