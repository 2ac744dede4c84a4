# Computes the ranks of one task's pages from the ranks of all pages after the phase $BEFORE.
awk -f round.awk \
    file=links "$HINDMOST_FROM"/init/*/links \
    file=ranks "$HINDMOST_FROM/$BEFORE"/*/ranks \
    file=to "$HINDMOST_FROM/init/$HINDMOST_TASK/to" \
    > "$HINDMOST_OUTPUT/ranks"
