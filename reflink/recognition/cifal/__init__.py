"""CIFAL, a tagger that learns from few labelled citations ("An anchor learning approach for citation field learning").

1. A pretrained encoder (the MiniLM weights of the semantic stage) with a BiLSTM and a CRF learns from few labelled citations
   (`network`, `finetuning`).
2. The words of a venue whose removal lowers the confidence in the rest of the venue are its anchors; a classifier learns to
   find them in any citation (`anchors`, `selector`).
3. A copy of the pretrained encoder learns to predict the masked anchors of generated citations (`generated`, `masking`).
4. That encoder learns from the labelled citations as in step 1.

Requires the extra ``semantic``. `training` is the command; a worker does not import this package.
"""
