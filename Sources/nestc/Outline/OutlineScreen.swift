import NestClient
import NestModel

/// The outline on a terminal.
enum OutlineScreen {
    /// Shows it until the user quits, or the limit is reached.
    static func show(
        _ resolved: RequestOptions.Resolved,
        below source: ObjectID,
        at window: FetchWindow?,
        _ client: NestClient,
        presence: Presence? = nil,
        verifyDigest: Bool = false,
        limit: SubscriptionLimit = SubscriptionLimit()
    ) async throws {
        let browser = OutlineBrowser(OutlineText(resolved), below: source, at: window, TerminalScreen.size)
        var request = resolved.request
        request.window = browser.firstWindow
        try await client.withOutline(request, verifyDigest: verifyDigest) { outline in
            try await OutlineView(client, outline, resolved, browser, presence).follow(limit: limit)
        }
    }
}
