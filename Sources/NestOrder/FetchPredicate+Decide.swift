import NestModel

extension FetchPredicate {
    /// Evaluates the program although some comparisons are unknown: `test` returns `nil` for these. Returns `nil` if
    /// the result is unknown too. Precondition: `isWellFormed`.
    ///
    /// Three-valued (Kleene's logic): a false operand makes an AND false and a true operand makes an OR true, even if
    /// the others are unknown. Each node is decided from the results of its operands alone. Therefore a predicate that
    /// repeats a comparison may be unknown although it has the same value either way: `a OR NOT a`.
    package func decide(_ test: (Comparison) -> Bool?) -> Bool? {
        if self.nodes.count == 1, case .comparison(let comparison) = self.nodes[0] { return test(comparison) }
        var stack: [Bool?] = []
        for node in self.nodes {
            switch node {
            case .constant(let value): stack.append(value)
            case .comparison(let comparison): stack.append(test(comparison))
            case .not: stack.append(stack.removeLast().map { !$0 })
            case .and(let count): Self.combine(&stack, count, decisive: false)
            case .or(let count): Self.combine(&stack, count, decisive: true)
            }
        }
        return stack.last ?? true
    }

    /// Replaces operands by their AND or OR. `decisive`: the value of an operand that decides it.
    private static func combine(_ stack: inout [Bool?], _ count: Int, decisive: Bool) {
        let operands = stack.suffix(count)
        let result: Bool? = operands.contains(decisive) ? decisive : operands.contains(nil) ? nil : !decisive
        stack.removeLast(count)
        stack.append(result)
    }
}
