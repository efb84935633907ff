import NestModel

/// The content of a model file.
public struct ModelDocument: Hashable, Sendable {
    public var draft: ModelDraft
    /// Sentences about the parts of the file that nest ignores.
    public var warnings: [String]
    /// Whether Xcode wrote the file: what nest cannot do of it gets a warning, so that the model can be served.
    public let isForeign: Bool

    public init(draft: ModelDraft, warnings: [String] = [], isForeign: Bool = false) {
        self.draft = draft
        self.warnings = warnings
        self.isForeign = isForeign
    }

    /// Drops the regular expressions of a foreign model that a server cannot use, and defaults that do not match
    /// theirs. `fault`: why a pattern is not valid; `matches`: whether a text matches a valid one.
    public mutating func dropPatterns(fault: (String) -> String?, matches: (String, String) -> Bool) {
        guard self.isForeign else { return }
        for entity in self.draft.entities.indices {
            for index in self.draft.entities[entity].attributes.indices {
                let attribute = self.draft.entities[entity].attributes[index]
                let name = "\(self.draft.entities[entity].name).\(attribute.name)"
                guard let pattern = attribute.pattern else { continue }
                if let fault = fault(pattern) {
                    self.draft.entities[entity].attributes[index].pattern = nil
                    self.warnings.append("\(name): nest does not check the regular expression \(fault)")
                } else if case .string(let text) = attribute.defaultValue, !matches(text, pattern) {
                    self.draft.entities[entity].attributes[index].defaultValue = .null
                    self.warnings.append("\(name): its default does not match its regular expression, and is ignored")
                }
            }
        }
    }
}
