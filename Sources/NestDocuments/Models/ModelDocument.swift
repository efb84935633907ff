import NestModel

/// The content of a model file.
public struct ModelDocument: Hashable, Sendable {
    public var draft: ModelDraft
    /// What nest does not take over from the file, in sentences that name the part of the model.
    public var warnings: [String]

    public init(draft: ModelDraft, warnings: [String] = []) {
        self.draft = draft
        self.warnings = warnings
    }
}
