import NestModel

/// The content of a model file.
public struct ModelDocument: Hashable, Sendable {
    public var draft: ModelDraft
    /// Sentences about the parts of the file that nest ignores.
    public var warnings: [String]

    public init(draft: ModelDraft, warnings: [String] = []) {
        self.draft = draft
        self.warnings = warnings
    }
}
