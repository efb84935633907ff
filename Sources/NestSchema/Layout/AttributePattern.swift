import NestModel

/// The regular expression of an attribute, compiled: the whole text must match it, as in Core Data.
package struct AttributePattern: Sendable {
    private let expression: MatchExpression
    private let pattern: String

    /// Memory for an expression of `Limits.validationInstructionsMax` instructions and the states that texts need.
    private static let memoryBytes = 2 << 20

    /// `nil` if the pattern is not valid: `fault(_:)` says why.
    init?(_ pattern: String) {
        guard let expression = try? Self.compiled(pattern) else { return nil }
        self.expression = expression
        self.pattern = pattern
    }

    private static func compiled(_ pattern: String) throws(MatchExpression.Fault) -> MatchExpression {
        let expression = try MatchExpression(pattern, [], memoryBytes: Self.memoryBytes)
        guard expression.instructionCount <= Limits.validationInstructionsMax else {
            throw .init(text: "it is too large", isTooLarge: true)
        }
        return expression
    }

    /// Returns why a pattern is not valid, in words that follow "its regular expression"; `nil` if it is.
    package static func fault(_ pattern: String) -> String? {
        do throws(MatchExpression.Fault) {
            _ = try Self.compiled(pattern)
            return nil
        } catch {
            let text =
                error.isTooLarge
                ? "compiled it has over \(Limits.validationInstructionsMax) instructions; each repetition like {100} counts "
                    + "so many times" : error.text
            return "\(FetchPredicate.quoted(pattern)) is not valid: \(text)"
        }
    }

    /// Whether a whole text matches a pattern; `false` if the pattern is not valid.
    package static func matches(_ text: String, _ pattern: String) -> Bool {
        Self(pattern)?.expression.matches(text) ?? false
    }

    /// The greatest number of scalars of a value that a fault shows.
    private static let excerptScalars = 40

    /// Returns what is wrong with a value, in words that follow the attribute's name; `nil` if it may be stored.
    func fault(_ value: AttributeValue) -> (reason: ValidationFault.Reason, text: String)? {
        guard case .string(let text) = value, !self.expression.matches(text) else { return nil }
        let scalars = text.unicodeScalars
        let excerpt = String(String.UnicodeScalarView(scalars.prefix(Self.excerptScalars)))
        let end = scalars.count > Self.excerptScalars ? "…" : ""
        return (
            .range,
            "is \(FetchPredicate.quoted(excerpt))\(end), which does not match \(FetchPredicate.quoted(self.pattern))"
        )
    }
}

extension ManagedObjectModel {
    /// What is wrong with the regular expressions of its attributes, and with defaults that do not match them.
    package var patternFaults: [String] {
        var faults: [String] = []
        for entity in self.entities {
            let parent = entity.parent.flatMap { self.entity($0) }
            for attribute in entity.attributes where parent?.attribute(attribute.number) == nil {
                guard let pattern = attribute.pattern else { continue }
                let name = "\(entity.name).\(attribute.name)"
                if let fault = AttributePattern.fault(pattern) {
                    faults.append("\(name): its regular expression \(fault)")
                } else if let fault = AttributePattern(pattern)?.fault(attribute.defaultValue) {
                    faults.append("\(name): its default \(fault.text)")
                }
            }
        }
        return faults
    }
}
